package web

import (
	"math"
	"strconv"
)

const (
	// pollEvery is after how many seconds browsers ask again for a page of what goes on.
	pollEvery = 10
	// pollMost bounds them, whatever the settings multiply them by.
	pollMost = 24 * 60 * 60
)

// poll has browsers ask again for the page while what it shows goes on. Where the settings multiply the interval by 0, they do not.
func (x *visit) poll(goesOn bool) {
	every := pollEvery * x.Settings.Current().PollingIntervalMultiplier
	if goesOn && every > 0 {
		x.w.Header().Set("Refresh", strconv.Itoa(int(math.Ceil(min(every, pollMost)))))
	}
}
