package exec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
)

// maxTokens is how many tokens a document has at most; the transport bounds its length.
const maxTokens = 6000

// maxRules is how many errors validation tells.
const maxRules = 5

// Request is what a client sends.
type Request struct {
	Query     string         `json:"query"`
	Name      string         `json:"operationName"`
	Variables map[string]any `json:"variables"`
}

// Document is a document that was parsed and validated. It may be used by many requests at once.
type Document struct{ query *ast.QueryDocument }

// Operation is one operation of a document with its variables, ready to run.
type Operation struct {
	def       *ast.OperationDefinition
	variables map[string]any
	weight    weight
	root      *ast.Definition

	// Score and Limit are the complexity of the whole body and what the caller may send: what the
	// operation says when it is asked for them.
	Score, Limit int
}

// Introspects reports whether the operation asks about the schema alone.
func (o *Operation) Introspects() bool {
	for _, sel := range o.def.SelectionSet {
		if f, ok := sel.(*ast.Field); !ok || !strings.HasPrefix(f.Name, "__") {
			return false
		}
	}
	return true
}

// ReadsSchema reports whether the operation asks about the schema, among other things perhaps.
func (o *Operation) ReadsSchema() bool { return o.weight.schema }

// Mutates reports whether the operation changes something.
func (o *Operation) Mutates() bool { return o.def.Operation == ast.Mutation }

// Subscribes reports whether the operation is a subscription.
func (o *Operation) Subscribes() bool { return o.def.Operation == ast.Subscription }

// Complexity is the cost of the operation.
func (o *Operation) Complexity() int { return o.weight.complexity }

// Depth is how deep its fields are nested.
func (o *Operation) Depth() int { return o.weight.depth }

// Name is the name of the operation, "" where it has none.
func (o *Operation) Name() string { return o.def.Name }

// Parse reads and validates a document.
func (s *Schema) Parse(text string) (*Document, []Error) {
	if strings.TrimSpace(text) == "" {
		return nil, []Error{{Message: endOfDocument, Locations: []Location{}}}
	}
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, maxTokens)
	if err != nil {
		return nil, []Error{syntax(err)}
	}
	if len(doc.Operations) == 0 {
		return nil, []Error{{Message: endOfDocument, Locations: []Location{}}}
	}
	if problems := s.validate(doc); len(problems) > 0 {
		return nil, problems[:min(len(problems), maxRules)]
	}
	return &Document{doc}, nil
}

const endOfDocument = "Unexpected end of document"

func syntax(err error) Error {
	e, ok := errors.AsType[*gqlerror.Error](err)
	if !ok {
		return Error{Message: err.Error()}
	}
	if strings.Contains(e.Message, "<EOF>") {
		return Error{Message: endOfDocument, Locations: []Location{}}
	}
	out := Error{Message: "Parse error: " + e.Message}
	for _, l := range e.Locations {
		out.Locations = append(out.Locations, Location{l.Line, l.Column})
		out.Message = fmt.Sprintf("Parse error: %s at [%d, %d]", e.Message, l.Line, l.Column)
	}
	return out
}

// Prepare chooses the operation of a request and reads its variables.
func (s *Schema) Prepare(doc *Document, name string, variables map[string]any) (*Operation, []Error) {
	op := &Operation{}
	switch {
	case name != "":
		if op.def = doc.query.Operations.ForName(name); op.def == nil {
			return nil, []Error{{Message: fmt.Sprintf("No operation named %q", name)}}
		}
	case len(doc.query.Operations) > 1:
		return nil, []Error{{Message: "An operation name is required"}}
	default:
		op.def = doc.query.Operations[0]
	}
	switch op.def.Operation {
	case ast.Mutation:
		op.root = s.types.Mutation
	case ast.Subscription:
		op.root = s.types.Subscription
	default:
		op.root = s.types.Query
	}
	var problems []Error
	if op.variables, problems = s.variables(op.def, variables); len(problems) > 0 {
		return nil, problems
	}
	op.weight = s.weigh(op)
	if op.weight.recursive != "" {
		return nil, []Error{{Message: "Recursive query - too many of fields '" + op.weight.recursive + "' in one branch of the query"}}
	}
	return op, nil
}
