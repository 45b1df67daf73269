// Package bucket reads objects of buckets with the interface of S3, through the dialer of the server.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"tenon/internal/base/safehttp"
)

// Object is one object, and the credentials that may read it.
type Object struct {
	Region    string `json:"region"`
	Bucket    string `json:"bucket"`
	Key       string `json:"key"`
	AccessKey string `json:"access_key"`
	Secret    string `json:"secret"`
}

// Info describes an object.
type Info struct {
	Size int64
	Type string // its media type
}

// ErrNotFound says that the bucket has no such object.
var ErrNotFound = errors.New("no such object")

// Store is where buckets are.
type Store struct {
	Outbound *safehttp.Dialer
	Endpoint *url.URL // nil is Amazon's of the region
}

// Bounds of what names an object.
const (
	maxKey     = 1024
	maxSecret  = 1024
	tries      = 2
	statWithin = 10 * time.Second
)

var (
	regions = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	buckets = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
)

// Errors of names that no object can have.
var (
	ErrRegion = errors.New("region is invalid")
	ErrBucket = errors.New("bucket_name is invalid")
	ErrKey    = errors.New("file_key is invalid")
	ErrSecret = errors.New("credentials are invalid")
)

// check returns what is wrong with the names.
func (o *Object) check() error {
	switch {
	case !regions.MatchString(o.Region):
		return ErrRegion
	case !buckets.MatchString(o.Bucket):
		return ErrBucket
	case o.Key == "" || len(o.Key) > maxKey:
		return ErrKey
	case o.AccessKey == "" || o.Secret == "" || len(o.AccessKey) > maxSecret || len(o.Secret) > maxSecret:
		return ErrSecret
	}
	return nil
}

func (s Store) client(o *Object) (*minio.Client, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	options := &minio.Options{
		Creds: credentials.NewStaticV4(o.AccessKey, o.Secret, ""), Secure: true, Region: o.Region, Transport: s.Outbound.RoundTripper(), MaxRetries: tries,
	}
	host := "s3." + o.Region + ".amazonaws.com"
	if s.Endpoint != nil {
		host, options.Secure, options.BucketLookup = s.Endpoint.Host, s.Endpoint.Scheme == "https", minio.BucketLookupPath
	}
	c, err := minio.New(host, options)
	if err != nil {
		return nil, fmt.Errorf("address of bucket: %w", err)
	}
	return c, nil
}

// Stat describes an object. An error is ErrNotFound, one of names, a *[safehttp.BlockedError], or says what the store answered.
func (s Store) Stat(ctx context.Context, o Object) (Info, error) {
	c, err := s.client(&o)
	if err != nil {
		return Info{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, statWithin)
	defer cancel()
	found, err := c.StatObject(ctx, o.Bucket, o.Key, minio.StatObjectOptions{})
	if err != nil {
		return Info{}, reason(err)
	}
	return Info{found.Size, found.ContentType}, nil
}

// Open begins to read an object, which comes no more slowly than pace.
func (s Store) Open(ctx context.Context, o Object, pace safehttp.Pace) (io.ReadCloser, Info, error) {
	c, err := s.client(&o)
	if err != nil {
		return nil, Info{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	core := minio.Core{Client: c}
	body, found, _, err := core.GetObject(ctx, o.Bucket, o.Key, minio.GetObjectOptions{})
	if err != nil {
		cancel()
		return nil, Info{}, reason(err)
	}
	return &reading{pace.Reader(body, cancel), body, cancel}, Info{found.Size, found.ContentType}, nil
}

type reading struct {
	io.Reader
	body io.Closer
	end  func()
}

// Close ends the request.
func (r *reading) Close() error {
	r.end()
	if err := r.body.Close(); err != nil {
		return fmt.Errorf("close object: %w", err)
	}
	return nil
}

// reason is an error without the URL of the request.
func reason(err error) error {
	if blocked, ok := errors.AsType[*safehttp.BlockedError](err); ok {
		return blocked
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		if failed.Timeout() {
			return errors.New("the server did not answer in time")
		}
		return failed.Err
	}
	answered := minio.ToErrorResponse(err)
	if answered.Code == minio.NoSuchKey || answered.StatusCode == http.StatusNotFound && answered.Code != minio.NoSuchBucket {
		return ErrNotFound
	}
	return err
}
