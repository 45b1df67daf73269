package job

// Awake says whether the queue does not rest.
func (q *Queue) Awake() bool { return q.awake.Load() }

// Overlook lets the queue rest although one job runs.
func (q *Queue) Overlook() { q.active.Add(-1) }
