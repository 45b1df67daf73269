package importexport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/bucket"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/safehttp"
	"tenon/internal/core/authz"
	"tenon/internal/core/project"
)

// RemoteImports says which archives are fetched from other servers. The zero value allows all of them.
type RemoteImports struct {
	NoURL   bool     // none by a URL
	NoS3    bool     // none from buckets
	Buckets *url.URL // where buckets are; nil is Amazon's
}

// remote says where an archive is. It is stored sealed.
type remote struct {
	URL string         `json:"url,omitempty"`
	S3  *bucket.Object `json:"s3,omitempty"`
}

// remoteSecret is the place that the address of an archive is sealed for.
func remoteSecret(key string) string { return "file_imports.source:" + key }

// ImportURL is Import of an archive that another server has. It is fetched when the import begins; its headers are checked now.
func (s *Service) ImportURL(ctx context.Context, as authz.Actor, in ImportInput, address string) (*project.Project, error) {
	return s.importRemote(ctx, as, in, remote{URL: address})
}

// ImportObject is ImportURL of an archive in a bucket.
func (s *Service) ImportObject(ctx context.Context, as authz.Actor, in ImportInput, from bucket.Object) (*project.Project, error) {
	return s.importRemote(ctx, as, in, remote{S3: &from})
}

func (s *Service) importRemote(ctx context.Context, as authz.Actor, in ImportInput, from remote) (*project.Project, error) {
	if err := s.Policy.Require(ctx, as, authz.ImportProjects, authz.Subject{}); err != nil {
		return nil, err
	}
	if from.S3 == nil && s.Remote.NoURL || from.S3 != nil && s.Remote.NoS3 {
		return nil, errs.New(errs.NotFound, "")
	}
	into, err := s.importInto(ctx, as, in.Namespace)
	if err != nil {
		return nil, err
	}
	if err := s.Projects.RequireCreate(ctx, as, into); err != nil {
		return nil, sentence(err)
	}
	head := s.headOfURL
	if from.S3 != nil {
		head = s.headOfObject
	}
	if err := head(ctx, &from); err != nil {
		return nil, err
	}
	return s.scheduleImport(ctx, as, into, in, func(key string) (string, error) {
		text, err := json.Marshal(from)
		if err != nil {
			return "", fmt.Errorf("keep address of archive: %w", err)
		}
		return s.Box.Seal(remoteSecret(key), string(text)), nil
	})
}

// Bounds of asking other servers.
const (
	headWithin   = 5 * time.Second
	maxRemoteURL = 2048
	atLeast      = 16 << 10 // bytes a second that an archive comes with, on average over slowest
	slowest      = time.Minute
)

// archiveTypes are the media types of archives.
var archiveTypes = []string{"application/gzip", "application/x-tar", "application/x-gzip"}

// checkURL refuses an address that may not be reached.
func (s *Service) checkURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case len(address) > maxRemoteURL:
		return errs.Plain("File url is too long (maximum is 2048 characters)")
	case err == nil && u.Scheme != "https":
		return errs.Plain("File url is blocked: Only allowed schemes are https")
	}
	_, err = s.Outbound.CheckURL(address)
	if blocked, ok := errors.AsType[*safehttp.BlockedError](err); ok {
		return errs.Plain("File url " + blocked.Error())
	}
	if err != nil {
		return fmt.Errorf("check address of archive: %w", err)
	}
	return nil
}

// headOfURL checks what a server says of an archive. Addresses that S3 has signed answer nothing but GET.
func (s *Service) headOfURL(ctx context.Context, from *remote) error {
	if err := s.checkURL(from.URL); err != nil {
		return err
	}
	answer, err := s.Outbound.Retrieve(ctx, "HEAD", from.URL, headWithin, safehttp.Pace{})
	if blocked, ok := errors.AsType[*safehttp.BlockedError](err); ok {
		return errs.Plain("File url " + blocked.Error())
	}
	if err != nil {
		return errs.Plain("Failed to retrieve headers: " + plainReason(err))
	}
	if err := answer.Body.Close(); err != nil {
		return fmt.Errorf("headers of archive: %w", err)
	}
	if answer.Header.Get("Server") == "AmazonS3" && answer.Header.Get("X-Amz-Request-Id") != "" {
		return nil
	}
	if answer.Status != 200 {
		return errs.Plain(fmt.Sprintf("Failed to retrieve headers: the server answered %d", answer.Status))
	}
	return s.checkHead(answer.Header.Get("Content-Type"), answer.Length)
}

// headOfObject checks what a bucket has.
func (s *Service) headOfObject(ctx context.Context, from *remote) error {
	found, err := s.buckets().Stat(ctx, *from.S3)
	if errors.Is(err, bucket.ErrNotFound) {
		return errs.Plain(fmt.Sprintf("File not found '%s' in '%s'", from.S3.Key, from.S3.Bucket))
	}
	if err != nil {
		return errs.Plain(notOpened(from.S3, err))
	}
	return s.checkHead(found.Type, found.Size)
}

func (s *Service) buckets() bucket.Store {
	return bucket.Store{Outbound: s.Outbound, Endpoint: s.Remote.Buckets}
}

func notOpened(o *bucket.Object, err error) string {
	return fmt.Sprintf("Failed to open '%s' in '%s': %s", o.Key, o.Bucket, plainReason(err))
}

// maxReasonText bounds what is repeated of another server's words, in bytes.
const maxReasonText = 300

// plainReason is the text of an error, as much as is shown.
func plainReason(err error) string {
	text := strings.ToValidUTF8(strings.TrimPrefix(err.Error(), "deliver: "), "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	if len(text) > maxReasonText {
		text = strings.ToValidUTF8(text[:maxReasonText], "")
	}
	return text
}

// remoteLimit is how many bytes an archive of another server may have; 0 is unlimited.
func (s *Service) remoteLimit() int64 {
	return int64(s.Settings.Current().MaxImportRemoteFileSize) << 20
}

// checkHead checks the media type and the length of an archive.
func (s *Service) checkHead(kind string, length int64) error {
	plain, _, err := mime.ParseMediaType(kind)
	if err != nil {
		plain = ""
	}
	allowed := false
	for _, one := range archiveTypes {
		allowed = allowed || one == plain
	}
	if !allowed {
		return errs.Plain(fmt.Sprintf("Content type '%s' not allowed. (Allowed: %s)", plainReason(errors.New(kind)), strings.Join(archiveTypes, ", ")))
	}
	if length < 1 {
		return errs.Plain("Content length is too small (should be at least 1 Byte)")
	}
	if most := s.remoteLimit(); most > 0 && length > most {
		return errs.Plain(fmt.Sprintf("Content length is too big (should be at most %s)", sizeText(most)))
	}
	return nil
}

// sizeText is a number of whole mebibytes in words.
func sizeText(bytes int64) string {
	mib := bytes >> 20
	if mib%1024 == 0 {
		return fmt.Sprintf("%d GiB", mib/1024)
	}
	return fmt.Sprintf("%d MiB", mib)
}

// fetch stores the archive of another server under the key of the import, and forgets where it was.
func (s *Service) fetch(ctx context.Context, row *importRow) error {
	if row.Source == "" {
		return nil
	}
	text, err := s.Box.Open(remoteSecret(row.Object), row.Source)
	if err != nil {
		return fmt.Errorf("address of archive: %w", err)
	}
	var from remote
	if err := json.Unmarshal([]byte(text), &from); err != nil {
		return fmt.Errorf("address of archive: %w", err)
	}
	body, length, err := s.openRemote(ctx, &from)
	if err != nil {
		return err
	}
	wanted := blob.Wanted{Limit: s.remoteLimit()}
	if length >= 0 {
		wanted.Size = &length
	}
	source := &watched{from: body}
	_, err = s.Objects.Put(ctx, row.Object, source, wanted)
	_ = body.Close()
	switch {
	case errors.Is(err, blob.ErrTooLarge) || wanted.Limit > 0 && length > wanted.Limit:
		return failure{fmt.Sprintf("The archive is too big (should be at most %s)", sizeText(max(wanted.Limit, 1<<20)))}
	case errors.Is(err, blob.ErrMismatch):
		return failure{"The archive has another length than the server said."}
	case source.err != nil && ctx.Err() == nil:
		return failure{"The archive could not be fetched: " + plainReason(source.err)}
	case err != nil:
		return fmt.Errorf("keep archive: %w", err)
	}
	row.Source = ""
	return s.DB.InTx(ctx, func(ctx context.Context) error {
		if _, err := s.DB.Exec(ctx, "UPDATE file_imports SET source = '', updated_at = ? WHERE id = ?", db.At(s.Now()), row.ID); err != nil {
			return fmt.Errorf("note archive: %w", err)
		}
		return nil
	})
}

// openRemote begins to read an archive.
func (s *Service) openRemote(ctx context.Context, from *remote) (io.ReadCloser, int64, error) {
	if from.S3 != nil {
		body, info, err := s.buckets().Open(ctx, *from.S3, s.Waits.Pace)
		switch {
		case errors.Is(err, bucket.ErrNotFound):
			return nil, 0, failure{fmt.Sprintf("File not found '%s' in '%s'", from.S3.Key, from.S3.Bucket)}
		case err != nil && ctx.Err() == nil:
			return nil, 0, failure{notOpened(from.S3, err)}
		}
		return body, info.Size, err
	}
	answer, err := s.Outbound.Retrieve(ctx, "GET", from.URL, longest, s.Waits.Pace)
	switch {
	case err != nil && ctx.Err() == nil:
		return nil, 0, failure{"The archive could not be fetched: " + plainReason(err)}
	case err != nil:
		return nil, 0, err
	case answer.Status != 200:
		return nil, 0, errors.Join(failure{fmt.Sprintf("The archive could not be fetched: the server answered %d", answer.Status)}, answer.Body.Close())
	}
	return answer.Body, answer.Length, nil
}

// watched keeps the error of what it reads from.
type watched struct {
	from io.Reader
	err  error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}
