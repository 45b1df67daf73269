// Package hooks tests the commands about webhooks against a server that runs.
package hooks
