package blob_test

import (
	"strings"
	"testing"

	"tenon/internal/base/blob"
)

func TestCleanName(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"plan.txt": "plan.txt", "my plan (2).txt": "my_plan__2_.txt", "": "unnamed", ".": "_.", "..": "_..", ".bashrc": ".bashrc",
		"../../etc/passwd": "passwd", `C:\temp\x.png`: "x.png", "a/": "unnamed", "a\x00b\r\nc": "a_b__c", `a"b'c<d>.png`: "a_b_c_d_.png",
		"größe.png": "größe.png", "\xff\xfe.png": "__.png", "[x](y).png": "_x__y_.png",
	} {
		if got := blob.CleanName(from); got != want {
			t.Errorf("CleanName(%q) = %q, want %q", from, got, want)
		}
	}
	long := blob.CleanName(strings.Repeat("å", 300) + ".png")
	if len(long) > 200 || !strings.HasSuffix(long, "å.png") {
		t.Errorf("long name: %d bytes, %q", len(long), long)
	}
}

func FuzzCleanName(f *testing.F) {
	f.Add("../../etc/passwd")
	f.Fuzz(func(t *testing.T, name string) {
		got := blob.CleanName(name)
		if got == "" || got == "." || got == ".." || len(got) > 200 || strings.ContainsAny(got, "/\\\"'<>()[]\x00\r\n ") {
			t.Errorf("CleanName(%q) = %q", name, got)
		}
		if blob.CleanName(got) != got {
			t.Errorf("CleanName(%q) is not clean", got)
		}
	})
}
