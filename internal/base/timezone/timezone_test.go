package timezone

import (
	"strings"
	"testing"
	"time"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	for name, want := range map[string]string{
		"Eastern Time (US & Canada)": "07:00", "Pacific Time (US & Canada)": "04:00", "Hawaii": "02:00", "London": "12:00", "UTC": "12:00", "Etc/UTC": "12:00",
		"International Date Line West": "00:00", "Berlin": "13:00", "New Delhi": "17:30", "Kathmandu": "17:45", "Kyiv": "14:00", "Samoa": "01:00", "Chatham Is.": "01:45",
		"Nuku'alofa": "01:00", "Europe/Berlin": "13:00", "": "", "Local": "", "../zone": "", "Nowhere": "", "Eastern Time": "", strings.Repeat("x", 10_000): "",
	} {
		got := ""
		if l := Load(name); l != nil {
			got = at.In(l).Format("15:04")
		}
		if got != want {
			t.Errorf("%.40s: got %q, want %q", name, got, want)
		}
	}
}
