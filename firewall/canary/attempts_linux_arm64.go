package canary

var moreAttempts []Attempt
