// The counters of the whole server, from the topic `counters` and GET /api/v1/overview.

import type { Overview } from 'muster-rest';

export type { Counts } from 'muster-rest';
export type Counters = Overview;
// Functions by displayed name. For Python, this is the name of the callable.
export type ShownFunction = Overview['progress']['functions'][number];
