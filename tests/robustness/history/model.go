package main

import (
	"fmt"
	"strconv"

	"github.com/anishathalye/porcupine"
)

// keyModel is the sequential specification of one key: a register that can be missing. The state is the value, or
// missing.
var keyModel = porcupine.Model{
	Init: func() interface{} { return missing },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		return step(state.(string), input.(operation))
	},
	Equal: func(a, b interface{}) bool { return a == b },
	DescribeOperation: func(input, _ interface{}) string {
		o := input.(operation)
		answer := o.Value
		if o.Outcome == outcomeUnknown {
			answer = "?"
		} else if answer == "" {
			answer = "missing"
		}
		if o.Arg != "" {
			return fmt.Sprintf("%s(%s) -> %s", o.Op, o.Arg, answer)
		}
		return fmt.Sprintf("%s -> %s", o.Op, answer)
	},
	DescribeState: func(state interface{}) string {
		if state == missing {
			return "missing"
		}
		return state.(string)
	},
}

const missing = ""

// step returns whether the operation can happen in a state, and the state after it. An operation with an unknown
// outcome can happen in every state; an operation that never happens is placed after all others by its return time.
func step(state string, o operation) (bool, string) {
	known := o.Outcome == outcomeOK
	switch o.Op {
	case "get":
		return !known || o.Value == state, state
	case "put":
		return true, o.Arg
	case "check":
		return !known || (o.Value == "present") == (state != missing), state
	case "compare_set": // of a missing key expects the empty text; answers with the value after it
		if state == o.Expected {
			return !known || o.Value == o.Arg, o.Arg
		}
		if state == missing {
			return !known || o.Value == o.Expected, state
		}
		return !known || o.Value == state, state
	case "insert":
		if state == missing {
			return !known || o.Value == "inserted", o.Arg
		}
		return !known || o.Value == "exists", state
	case "remove": // a delete whose answer does not say whether the key existed
		return true, missing
	case "delete":
		if state == missing {
			return !known || o.Value == "missing", missing
		}
		return !known || o.Value == "deleted", missing
	case "increment": // by Arg, by 1 if Arg is empty
		from, err := number(state, 0)
		by, wrong := number(o.Arg, 1)
		if err != nil || wrong != nil {
			return false, state
		}
		next := strconv.Itoa(from + by)
		return !known || o.Value == next, next
	}
	return false, state
}

func number(text string, absent int) (int, error) {
	if text == "" {
		return absent, nil
	}
	return strconv.Atoi(text)
}
