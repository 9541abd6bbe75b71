// Objects that were written although all were converged.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// written is the first object of a kind that was written, and how many there are.
type written struct {
	Resource string          `json:"resource"`
	Count    int             `json:"count"`
	Before   json.RawMessage `json:"before"` // null for a new object
	After    json.RawMessage `json:"after"`
}

// version is the present resourceVersion, which all kinds of one etcd share.
func (k *kube) version(ctx context.Context) (string, error) {
	var l list
	err := k.do(ctx, "LIST", "webapps", crdBase+"/webapps?limit=1", "", nil, &l)
	return l.Metadata.ResourceVersion, err
}

// written compares the objects with those at an earlier version.
func (k *kube) written(ctx context.Context, version string) ([]written, error) {
	since, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return nil, err
	}
	var all []written
	for _, kind := range kinds {
		resource, path := kind[0], kind[1]
		w := written{Resource: resource}
		var first object
		if _, err := k.each(ctx, resource, path, func(o *object) {
			if at, _ := strconv.ParseInt(o.Metadata.ResourceVersion, 10, 64); at > since {
				if w.Count++; w.Count == 1 {
					first = *o
				}
			}
		}); err != nil {
			return nil, err
		}
		if w.Count == 0 {
			continue
		}
		group := strings.TrimSuffix(path, "/"+resource)
		of := fmt.Sprintf("%s/namespaces/%s/%s", group, first.Metadata.Namespace, resource)
		if err := k.do(ctx, http.MethodGet, resource, of+"/"+first.Metadata.Name, "", nil, &w.After); err != nil {
			return nil, err
		}
		var then struct{ Items []json.RawMessage }
		if err := k.do(ctx, "LIST", resource, fmt.Sprintf("%s?fieldSelector=metadata.name=%s&resourceVersion=%s&resourceVersionMatch=Exact",
			of, first.Metadata.Name, version), "", nil, &then); err != nil {
			return nil, err
		}
		if len(then.Items) > 0 {
			w.Before = then.Items[0]
		}
		all = append(all, w)
	}
	return all, nil
}
