package hookevent

import "tenon/internal/base/job"

// Reminder is the job that records which access tokens end soon.
func (s *Service) Reminder() job.Args { return remind{} }
