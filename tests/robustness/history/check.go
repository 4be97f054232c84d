package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// verdict is what check prints: one JSON object.
type verdict struct {
	Operations   int      `json:"operations"`
	Unknown      int      `json:"unknown"`
	Keys         int      `json:"keys"`
	Linearizable int      `json:"linearizable"`
	Illegal      []string `json:"illegal"`
	Undecided    []string `json:"undecided"`
	Pages        []string `json:"pages"`
}

// check reads histories of keys and decides for each key whether it is linearizable. It writes an HTML page for each
// key that is not. The exit status is 1 if a key is not linearizable.
func check(args []string) int {
	flags := flag.NewFlagSet("check", flag.ExitOnError)
	pages := flags.String("pages", ".", "folder for the HTML pages of histories that are not linearizable")
	unknown := flags.String("unknown", os.DevNull, "file that receives the operations without a known outcome")
	limit := flags.Duration("timeout", 20*time.Second, "time for each key; a key that takes longer is undecided")
	flags.Parse(args)

	list, err := os.Create(*unknown)
	if err != nil {
		fmt.Fprintln(os.Stderr, "history:", err)
		return 2
	}
	defer list.Close()
	unknowns := json.NewEncoder(list)
	byKey := map[string][]operation{}
	result := verdict{Illegal: []string{}, Undecided: []string{}, Pages: []string{}}
	for _, path := range flags.Args() {
		err := readHistory(path, func(o operation) {
			if o.Outcome == outcomeFailed {
				return
			}
			if o.Outcome == outcomeUnknown {
				if o.Op == "get" || o.Op == "check" {
					return // has no effect and no answer
				}
				result.Unknown++
				unknowns.Encode(o)
			}
			result.Operations++
			byKey[o.Key] = append(byKey[o.Key], o)
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "history:", err)
			return 2
		}
	}
	keys := make([]string, 0, len(byKey))
	for key := range byKey {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	result.Keys = len(keys)
	for _, key := range keys {
		history := porcupineHistory(byKey[key])
		switch porcupine.CheckOperationsTimeout(keyModel, history, *limit) {
		case porcupine.Ok:
			result.Linearizable++
		case porcupine.Unknown:
			result.Undecided = append(result.Undecided, key)
		case porcupine.Illegal:
			result.Illegal = append(result.Illegal, key)
			name := strings.TrimSuffix(filepath.Base(flags.Arg(0)), filepath.Ext(flags.Arg(0)))
			path := filepath.Join(*pages, fmt.Sprintf("%s-%d.html", name, len(result.Pages)))
			if page := writePage(path, len(result.Pages), history, *limit); page != "" {
				result.Pages = append(result.Pages, page)
			}
		}
	}
	json.NewEncoder(os.Stdout).Encode(result)
	if len(result.Illegal) > 0 {
		return 1
	}
	return 0
}

// porcupineHistory converts operations. An operation with an unknown outcome can take effect at any later time, so it
// never returns.
func porcupineHistory(operations []operation) []porcupine.Operation {
	clients := map[string]int{}
	history := make([]porcupine.Operation, 0, len(operations))
	for _, o := range operations {
		id, known := clients[o.Client]
		if !known || o.Outcome == outcomeUnknown {
			// A client continues after an unknown outcome, so the pending operation gets a line of its own.
			id = len(clients) + len(history)
			if !known && o.Outcome != outcomeUnknown {
				clients[o.Client] = id
			}
		}
		end := o.Return
		if o.Outcome == outcomeUnknown {
			end = math.MaxInt64
		}
		history = append(history, porcupine.Operation{ClientId: id, Input: o, Call: o.Call, Return: end})
	}
	return history
}

func writePage(path string, number int, history []porcupine.Operation, limit time.Duration) string {
	const pagesMax = 20
	if number >= pagesMax {
		return ""
	}
	_, info := porcupine.CheckOperationsVerbose(keyModel, history, limit)
	if err := porcupine.VisualizePath(keyModel, info, path); err != nil {
		fmt.Fprintln(os.Stderr, "history:", err)
		return ""
	}
	return path
}
