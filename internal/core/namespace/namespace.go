// Package namespace holds the places where projects stand: groups and personal
// namespaces, their paths, their members and the numbers that count in them.
package namespace
