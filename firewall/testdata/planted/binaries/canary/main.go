// want: canary
package main

//go:noinline
func canary() { println("tweet") }

func main() { canary() }
