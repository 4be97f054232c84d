package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// Outcomes of an operation.
const (
	outcomeOK      = "ok"      // the server answered, and Value is its answer
	outcomeFailed  = "failed"  // the server refused the operation, which had no effect
	outcomeUnknown = "unknown" // no answer: the operation may take effect at any later time
)

// operation is one line of a history of keys. Call and Return are readings of CLOCK_MONOTONIC in nanoseconds, so
// clients in different processes of one machine share a clock. Return is 0 for an unknown outcome.
type operation struct {
	Client   string `json:"client"`
	Key      string `json:"key"`
	Op       string `json:"op"`                 // get, check, put, insert, compare_set, delete, remove, increment
	Arg      string `json:"arg,omitempty"`      // the value that put, insert and compare_set write, or the number that increment adds
	Expected string `json:"expected,omitempty"` // the value that compare_set replaces; empty if the key must be missing
	Outcome  string `json:"outcome"`
	Value    string `json:"value,omitempty"` // of get: the value, empty if the key is missing; of increment: the new value; of insert: "inserted" or "exists"; of delete: "deleted" or "missing"; of check: "present" or "missing"; of compare_set: the value after it, or Expected if the key is missing
	Call     int64  `json:"call"`
	Return   int64  `json:"return,omitempty"`
}

// countKeys adds the number of operations of each key in a file.
func countKeys(path string, counts map[string]int) error {
	return readLines(path, func(line []byte) error {
		var o struct {
			Key string `json:"key"`
		}
		// The recorder writes the key before all values, so a search is enough and much faster than JSON.
		if _, rest, found := bytes.Cut(line, []byte(`"key":"`)); found {
			if key, _, found := bytes.Cut(rest, []byte(`"`)); found && !bytes.ContainsRune(key, '\\') {
				counts[string(key)]++
				return nil
			}
		}
		if err := json.Unmarshal(line, &o); err != nil {
			return err
		}
		counts[o.Key]++
		return nil
	})
}

// readHistory calls f for each operation of a file.
func readHistory(path string, f func(operation)) error {
	return readLines(path, func(line []byte) error {
		var o operation
		if err := json.Unmarshal(line, &o); err != nil {
			return err
		}
		f(o)
		return nil
	})
}

func readLines(path string, f func([]byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 1<<16), 1<<22)
	for n := 1; lines.Scan(); n++ {
		if err := f(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return lines.Err()
}
