package sandbox

var moreAttempts []attempt
