import type { StreamBody } from './model/stream-protocol';
import { Stream } from './model/stream';
import { spanOf, type View } from '../shared/model/time-view';
import { get } from '../shared/rest';

const PAGES = 8; // number of pages read before drawing; the remaining pages are read later

export interface Wanted {
  view: View;
  now: number;
  tasks: string;
  job: string;
  cluster: string;
  until?: number; // end of the range; 0 if open
}

export type Ask = (query: URLSearchParams) => Promise<StreamBody>;

// Accesses the server only through `ask`.
export class StreamFeed {
  readonly stream = new Stream();
  private held: { from: number; to: number; filter: string; more: boolean } | null = null;
  private round = 0;

  constructor(private readonly ask: Ask) {}

  forget(): void {
    this.held = null;
  }

  missing(wanted: Wanted): boolean {
    const { held } = this;
    return held === null || held.filter !== filterOf(wanted) || wanted.view.from < held.from || Math.min(wanted.view.to, wanted.now, wanted.until || Infinity) > held.to;
  }

  // Returns whether the stream changed. A newer call cancels an older call.
  async look(wanted: Wanted): Promise<boolean> {
    const round = ++this.round;
    let fresh = this.missing(wanted);
    if (!fresh && this.held!.to !== Infinity && !this.held!.more) return false; // because the data of a past range does not change
    const { view, now } = wanted;
    const from = fresh ? Math.max(0, Math.floor(view.from - spanOf(view))) : this.held!.from;
    // Includes a margin on both sides for panning. A range that ends now keeps growing.
    const end = Math.min(view.to + spanOf(view), wanted.until || Infinity);
    const to = end >= now ? Infinity : Math.ceil(end);
    for (let page = 0; page < PAGES; ++page) {
      const query = new URLSearchParams(filterOf(wanted));
      query.set('limit', '50000');
      query.set('from_ms', String(from));
      const asked = fresh ? to : this.held!.to;
      if (asked !== Infinity) query.set('to_ms', String(asked));
      if (!fresh) query.set('after', String(this.stream.next));
      const body = await this.ask(query);
      if (round !== this.round) return false;
      this.held = { from, to: asked, filter: filterOf(wanted), more: body.more };
      this.stream.apply(body, fresh);
      fresh = false;
      if (!body.more) break;
    }
    // The loaded range stops growing, because the view no longer follows the current time and the data is complete.
    if (to !== Infinity && this.held!.to === Infinity && !this.held!.more) this.held = { ...this.held!, to: now };
    if (this.held!.to !== Infinity) {
      const body = await this.ask(new URLSearchParams([...new URLSearchParams(filterOf(wanted)), ['from_ms', String(Math.floor(now))], ['limit', '1']]));
      if (round === this.round) this.stream.takeRunning(body); // otherwise, a newer call reads the data again
    }
    return true;
  }
}

function filterOf({ tasks, job, cluster }: Wanted): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ tasks, job, cluster })) if (value) query.set(name, value);
  return query.toString();
}

export const askStream: Ask = (query) => get<StreamBody>(`/api/v1/stream?${query}`);
