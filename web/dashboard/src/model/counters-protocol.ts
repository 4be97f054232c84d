// The numbers of the whole server, as the topic `counters` and GET /api/v1/overview tell them.

import type { Overview } from 'muster-rest';

export type { Counts } from 'muster-rest';
export type Counters = Overview;
// By the name that is shown: of Python, the callable's.
export type ShownFunction = Overview['progress']['functions'][number];
