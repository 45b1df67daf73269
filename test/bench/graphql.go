package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// graphqlOperations ask by GraphQL.
func (w *world) graphqlOperations() []operation {
	path := strings.TrimSuffix(strings.TrimPrefix(w.clone, w.url+"/"), ".git")
	return []operation{
		w.graphql("graphql: current user", goal{rate: 4000, noGit: true}, `{ currentUser { username } }`),
		w.graphql("graphql: project, 20 issues, labels", goal{rate: 1000, noGit: true}, fmt.Sprintf(
			`{ project(fullPath: %q) { name issues(first: 20) { nodes { iid title labels { nodes { title color } } } } } }`, path)),
		w.graphql("graphql: 50 merge requests", goal{busy: 60 * time.Millisecond, statements: 15, noGit: true}, fmt.Sprintf(
			`{ project(fullPath: %q) { mergeRequests(first: 50) { nodes { iid title author { username } assignees { nodes { username } } labels { nodes { title } }
				approved approvedBy { nodes { username } } headPipeline { id status } notes(first: 10) { nodes { body author { username } } } } } } }`, path)),
	}
}

// graphql is an operation that has to be answered without errors.
func (w *world) graphql(name string, g goal, query string) operation {
	body, err := json.Marshal(map[string]string{"query": query})
	if err != nil {
		panic(err) // a text can be written
	}
	ready := make([][]byte, w.people)
	for i := range ready {
		ready[i] = bytes.Replace(request(w.url, w.token(i), http.MethodPost, "/graphql", body), []byte("/api/v4/graphql"), []byte("/api/graphql"), 1)
	}
	return operation{name: name, goal: g, wants: http.StatusOK, sends: func(i int) []byte { return ready[i%len(ready)] }, check: func(body []byte) error {
		var answer struct {
			Data   map[string]json.RawMessage
			Errors []struct{ Message string }
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return err
		}
		if len(answer.Errors) > 0 || len(answer.Data) == 0 {
			return errors.New("answered with errors: " + string(body[:min(len(body), 300)]))
		}
		return nil
	}}
}
