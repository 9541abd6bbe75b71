// Command health prints what other tools say about the state of objects: kstatus, which Flux follows, and a health script of Argo CD.
//
// It reads objects as JSON from its input, one after the other. Its argument is the file with the script. For each object it prints one
// line of JSON.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type answer struct {
	Kstatus        string `json:"kstatus"`
	KstatusMessage string `json:"kstatusMessage"`
	Argo           string `json:"argo"`
	ArgoMessage    string `json:"argoMessage"`
}

func main() {
	script, err := os.ReadFile(os.Args[1])
	if err != nil {
		fail(err)
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		// The object of unstructured must have int64 numbers.
		var raw json.RawMessage
		if err := in.Decode(&raw); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			fail(err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			fail(err)
		}
		result, err := status.Compute(object)
		if err != nil {
			fail(err)
		}
		health, message, err := healthOf(object, string(script))
		if err != nil {
			fail(err)
		}
		if err := out.Encode(answer{result.Status.String(), result.Message, health, message}); err != nil {
			fail(err)
		}
	}
}

// healthOf runs a script as Argo CD does: with three libraries and the global obj. The script returns a table with status and message.
// Argo CD reports an object that is being deleted as Progressing, without the script.
func healthOf(object *unstructured.Unstructured, script string) (string, string, error) {
	if object.GetDeletionTimestamp() != nil {
		return "Progressing", "Pending deletion", nil
	}
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName:   lua.OpenPackage,
		lua.BaseLibName:   lua.OpenBase,
		lua.TabLibName:    lua.OpenTable,
		lua.StringLibName: lua.OpenString,
	} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), NRet: 0, Protect: true}, lua.LString(name)); err != nil {
			return "", "", err
		}
	}
	l.SetGlobal("obj", value(l, object.Object))
	if err := l.DoString(script); err != nil {
		return "", "", err
	}
	table, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("the script returned %s", l.Get(-1).Type())
	}
	return lua.LVAsString(table.RawGetString("status")), lua.LVAsString(table.RawGetString("message")), nil
}

// value makes a value of Lua.
func value(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, each := range v {
			table.RawSetString(key, value(l, each))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, each := range v {
			table.Append(value(l, each))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	default:
		return lua.LNil
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
