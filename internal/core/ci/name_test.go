package ci_test

import (
	"testing"

	"tenon/internal/core/ci"
	"tenon/internal/core/variable"
)

// All who see a pipeline read its name, which its configuration makes: a secret in it would be told to them.
func TestService_Run_name(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, p := t.Context(), w.as(w.maintainer)
		for _, in := range []variable.Input{
			{Key: "MASKED", Value: "pearl-that-is-masked", Masked: true},
			{Key: "HIDDEN", Value: "pearl-that-is-hidden", Hidden: true, Masked: true},
			{Key: "GUARDED", Value: "guarded", Protected: true},
			{Key: "PLAIN", Value: "plain"},
			{Key: "GIVEN", Value: "pearl-that-is-masked", Masked: true},
		} {
			_, err := w.variables.Create(ctx, w.maintainer, p.Place(), in)
			check(t, err)
		}
		w.push("work", yml("variables: {OVER: 'with ${MASKED}', RAW: {value: $PLAIN, expand: false}}\n"+
			"workflow: {name: '$MASKED $HIDDEN ${GUARDED} $PLAIN $OVER $RAW $GIVEN $NONE$CI_COMMIT_REF_NAME'}\n"+oneJob), "Begin [skip ci]")
		w.protect("work")
		of, err := w.ci.Run(ctx, w.maintainer, p, ci.RunInput{Ref: "work", Source: ci.ByAPI, Variables: []ci.Variable{{Key: "GIVEN", Value: "given"}}})
		check(t, err)
		equal(t, "name", *w.again(of).Name, "$MASKED $HIDDEN ${GUARDED} plain with ${MASKED} $PLAIN given work")
		equal(t, "GUARDED of the job", value(w.take(w.runner("instance_type", nil), "build"), "GUARDED"), "guarded")
	})
}
