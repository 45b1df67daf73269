package license_test

import (
	"strings"
	"testing"

	"tenon/internal/base/license"
)

func TestLicenses_are_recognised_in_their_own_texts(t *testing.T) {
	t.Parallel()
	for _, l := range license.All() {
		text := l.Text(license.Filling{Year: 2026, FullName: "Ann Example", Project: "Shop"})
		got, err := license.Detect([]byte(text))
		if err != nil || got != l.Key {
			t.Errorf("%s: recognised as %q, %v", l.Key, got, err)
		}
		if strings.Contains(text, "[year]") || strings.Contains(text, "[fullname]") || strings.Contains(text, "[yyyy]") {
			t.Errorf("%s: blanks are left", l.Key)
		}
		if found, ok := license.Find(strings.ToUpper(l.Key)); !ok || found.Name != l.Name || l.Traits.Description == "" {
			t.Errorf("%s: got %+v, %t", l.Key, found, ok)
		}
	}
	for _, text := range []string{"", "All rights reserved.", "\x00\xff"} {
		if got, err := license.Detect([]byte(text)); err != nil || got != license.Other {
			t.Errorf("%q: recognised as %q, %v", text, got, err)
		}
	}
}

func TestLicense_Text(t *testing.T) {
	t.Parallel()
	mit, ok := license.Find("mit")
	if !ok {
		t.Fatal("there is no MIT license")
	}
	if text := mit.Text(license.Filling{Year: 2026}); !strings.Contains(text, "Copyright (c) 2026 [fullname]\n") {
		t.Errorf("without a name: %.80q", text)
	}
	if text := mit.Text(license.Filling{Year: 2026, FullName: "$1 Ann"}); !strings.Contains(text, "Copyright (c) 2026 $1 Ann\n") {
		t.Errorf("with a name: %.80q", text)
	}
	vim, ok := license.Find("vim")
	if !ok || vim.Name != "Vim License" || vim.Text(license.Filling{}) != "" {
		t.Errorf("one that is recognised only: %+v, %t", vim, ok)
	}
	if n := len(license.All()); n < 25 {
		t.Errorf("%d licenses are offered, want 25 or more", n)
	}
	if _, ok := license.Find("nothing"); ok {
		t.Error("found a license that does not exist")
	}
}
