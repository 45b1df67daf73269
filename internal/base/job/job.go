// Package job runs background work that is recorded in the caller's transaction.
package job
