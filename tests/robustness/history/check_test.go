package main

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

func ok(client, op, arg, value string, from, to int64) operation {
	return operation{Client: client, Key: "k", Op: op, Arg: arg, Outcome: outcomeOK, Value: value, Call: from, Return: to}
}

func unknown(client, op, arg string, from int64) operation {
	return operation{Client: client, Key: "k", Op: op, Arg: arg, Outcome: outcomeUnknown, Call: from}
}

func compareSet(expected, desired, value string, from int64) operation {
	o := ok("c", "compare_set", desired, value, from, from+1)
	o.Expected = expected
	return o
}

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		history []operation
		want    porcupine.CheckResult
	}{
		"concurrent write seen": {
			[]operation{ok("a", "put", "1", "", 0, 10), ok("b", "get", "", "1", 5, 8)}, porcupine.Ok},
		"stale read": {
			[]operation{ok("a", "put", "1", "", 0, 1), ok("a", "put", "2", "", 2, 3), ok("b", "get", "", "1", 4, 5)},
			porcupine.Illegal},
		"lost write": {
			[]operation{ok("a", "put", "1", "", 0, 1), ok("b", "get", "", "", 2, 3)}, porcupine.Illegal},
		"unknown write seen later": {
			[]operation{unknown("a", "put", "1", 0), ok("b", "get", "", "", 1, 2), ok("b", "get", "", "1", 3, 4)},
			porcupine.Ok},
		"unknown write never seen": {
			[]operation{unknown("a", "put", "1", 0), ok("b", "get", "", "", 1, 2)}, porcupine.Ok},
		"unknown write seen and then lost": {
			[]operation{unknown("a", "put", "1", 0), ok("b", "get", "", "1", 1, 2), ok("b", "get", "", "", 3, 4)},
			porcupine.Illegal},
		"two inserts succeed": {
			[]operation{ok("a", "insert", "1", "inserted", 0, 1), ok("b", "insert", "2", "inserted", 2, 3)},
			porcupine.Illegal},
		"delete of a missing key": {
			[]operation{ok("a", "delete", "", "missing", 0, 1), ok("a", "delete", "", "deleted", 2, 3)},
			porcupine.Illegal},
		"increment counted twice": {
			[]operation{ok("a", "increment", "", "1", 0, 1), ok("b", "increment", "", "3", 2, 3)}, porcupine.Illegal},
		"increment after an unknown one": {
			[]operation{unknown("a", "increment", "", 0), ok("b", "increment", "", "2", 2, 3)}, porcupine.Ok},
		"counter adds its argument": {
			[]operation{ok("a", "increment", "5", "5", 0, 1), ok("b", "increment", "-2", "3", 2, 3)}, porcupine.Ok},
		"counter loses an addition": {
			[]operation{ok("a", "increment", "5", "5", 0, 1), ok("b", "increment", "5", "5", 2, 3)}, porcupine.Illegal},
		"compare_set replaces the expected value": {
			[]operation{ok("a", "put", "1", "", 0, 1), compareSet("1", "2", "2", 2), ok("b", "get", "", "2", 4, 5)},
			porcupine.Ok},
		"compare_set creates a missing key": {
			[]operation{compareSet("", "2", "2", 0), ok("b", "get", "", "2", 4, 5)}, porcupine.Ok},
		"compare_set leaves a missing key": {
			[]operation{compareSet("1", "2", "1", 0), ok("b", "check", "", "missing", 4, 5)}, porcupine.Ok},
		"compare_set replaces another value": {
			[]operation{ok("a", "put", "3", "", 0, 1), compareSet("1", "2", "3", 2), ok("b", "get", "", "2", 4, 5)},
			porcupine.Illegal},
		"two compare_sets replace one value": {
			[]operation{ok("a", "put", "1", "", 0, 1), compareSet("1", "2", "2", 2), compareSet("1", "3", "3", 4)},
			porcupine.Illegal},
		"present key is reported as missing": {
			[]operation{ok("a", "put", "1", "", 0, 1), ok("b", "check", "", "missing", 2, 3)}, porcupine.Illegal},
		"missing key is reported as present": {
			[]operation{ok("a", "check", "", "present", 0, 1)}, porcupine.Illegal},
		"removed key is read": {
			[]operation{ok("a", "put", "1", "", 0, 1), ok("a", "remove", "", "", 2, 3), ok("b", "get", "", "1", 4, 5)},
			porcupine.Illegal},
		"unexpected status": {
			[]operation{ok("a", "get", "", "unexpected status 500: ", 0, 1)}, porcupine.Illegal},
	} {
		if got := porcupine.CheckOperationsTimeout(keyModel, porcupineHistory(c.history), time.Second); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
