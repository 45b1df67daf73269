// Package house holds the tests that keep the shape of the code: which package may
// import which, who writes which table, how long a file may be. They read the source
// and need nothing built. The reasons stand in docs/architecture.md.
package house
