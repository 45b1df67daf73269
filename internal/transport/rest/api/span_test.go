package api

import (
	"testing"

	"tenon/internal/base/page"
)

// A total that was counted no further than ten thousand ends no list.
func TestList_span_capped(t *testing.T) {
	t.Parallel()
	full := listing{total: page.MaxCounted + 1}
	if s := full.span(Page{Number: 105, PerPage: 100}, 100); !s.follows || !s.leads || s.counted {
		t.Errorf("a full page after the count: %+v, want pages around it", s)
	}
	last := listing{total: page.MaxCounted + 1}
	if s := last.span(Page{Number: 106, PerPage: 100}, 7); s.follows || !s.leads {
		t.Errorf("a page that is not full: %+v, want it to be the last", s)
	}
}
