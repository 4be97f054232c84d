// The time range as query parameters for REST. A range that ends now moves only every few seconds, so that a list is not
// requested anew with every response.

import { rangeClock, rangeNow } from './bar';
import { askedOf } from './model/range';
import { slow } from '../shared/page';

const STEP_MS = 30_000;

export function askedRange(): { from_ms: number | ''; to_ms: number | '' } {
  slow.value;
  return askedOf(rangeNow(), Math.floor(rangeClock() / STEP_MS) * STEP_MS);
}
