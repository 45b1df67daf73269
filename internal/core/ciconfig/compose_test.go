package ciconfig_test

import (
	"testing"

	"tenon/internal/core/ciconfig"
)

func TestCompose(t *testing.T) {
	t.Parallel()
	c, err := ciconfig.Compose(t.Context(), []byte("stages: [build, check]\nb: {stage: check, script: [make test]}\na: {stage: build, script: make}\n"), ciconfig.Options{})
	if err != nil || !c.Valid() {
		t.Fatalf("compose: %v, problems %v", err, c.Problems)
	}
	p, err := c.Evaluate(t.Context(), ciconfig.Run{})
	if err != nil || len(p.Jobs) != 2 || p.Jobs[0].Name != "a" || p.Jobs[1].Script[0] != "make test" {
		t.Errorf("evaluate: %v, %+v", err, p)
	}
}
