// Command history produces and checks histories of keys.
//
//	history load --urls http://127.0.0.1:8477 --output keys.jsonl    runs clients until SIGTERM
//	history check --pages DIR keys.jsonl...                          decides whether each key is linearizable
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "load":
			os.Exit(load(os.Args[2:]))
		case "check":
			os.Exit(check(os.Args[2:]))
		}
	}
	fmt.Fprintln(os.Stderr, "usage: history load|check [flags]")
	os.Exit(2)
}
