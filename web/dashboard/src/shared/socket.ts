// The WebSocket connection: subscribes to topics, applies messages, detects silence, and reconnects.
//
// Uses neither DOM nor real time: SocketEnv provides everything it needs, so that tests can control it.

import { MAX_WATCHED_ROWS, parse, SUBPROTOCOL, type ClientMessage, type ServerMessage, type Topic, type TopicMessage } from './model/protocol';
import type { Store } from './model/store';

export type Link = 'connecting' | 'live' | 'lost';

export interface Wire {
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: (() => void) | null;
  readonly protocol: string;
  send(text: string): void;
  close(): void;
}

export interface SocketEnv {
  open(subprotocol: string): Wire;
  now(): number; // monotonic, ms
  after(ms: number, call: () => void): () => void; // returns a function that cancels the call
  random(): number; // 0 to 1
}

export interface SocketEvents {
  changed(): void;
  link(link: Link): void;
  rebooted(): void; // called when another server process has answered
}

const SILENCE_MS = 3000; // counters arrive twice a second, so silence means a dead connection
const ACK_MS = 1000;
const ASK_AGAIN_MS = 2000;
const BACKOFF_MS = { first: 250, last: 10_000 };

export class Socket {
  link: Link = 'connecting';
  lastHeard = -Infinity; // monotonic time of the last applied message
  private wire: Wire | null = null;
  private greeted = false;
  private failures = 0;
  private lastMessage = 0;
  private lastAck = 0;
  private frozen = false;
  private wanted: readonly Topic[] = ['counters', 'tasks', 'jobs'];
  private subscribed = new Set<Topic>();
  private asked = new Map<Topic, number>(); // request times, by topic
  private rows: number[] = [];
  private retryAfter: number | null = null;
  private cancelRetry: (() => void) | null = null;
  private cancelWatch: (() => void) | null = null;

  constructor(
    private readonly store: Store,
    private readonly env: SocketEnv,
    private readonly events: SocketEvents,
  ) {}

  connect(): void {
    this.cancelRetry?.();
    this.cancelRetry = null;
    if (this.wire) return;
    this.greeted = false;
    this.lastMessage = this.env.now();
    const wire = this.env.open(SUBPROTOCOL);
    this.wire = wire;
    wire.onmessage = (event) => this.wire === wire && this.receive(String(event.data));
    wire.onclose = () => this.wire === wire && this.lose();
    this.watch();
  }

  // A hidden tab needs only the counters and the alerts.
  want(topics: readonly Topic[]): void {
    this.wanted = topics;
    this.settle();
  }

  // While frozen, only counters are received, to detect a dead connection.
  freeze(frozen: boolean): void {
    this.frozen = frozen;
    if (!frozen) for (const topic of this.subscribed) if (this.wanted.includes(topic)) this.ask([topic]);
    this.settle();
  }

  // Requests exact heartbeat ages for the visible rows.
  watchRows(ids: readonly number[]): void {
    const next = ids.slice(0, MAX_WATCHED_ROWS);
    if (next.length === this.rows.length && next.every((id, n) => id === this.rows[n])) return;
    this.rows = next;
    this.sendRows();
  }

  private receive(text: string): void {
    let message: ServerMessage | null;
    try {
      message = parse(text);
    } catch (error) {
      console.warn('message refused:', error);
      this.lose();
      return;
    }
    this.lastMessage = this.env.now();
    this.acknowledge();
    if (message === null) return;
    switch (message.t) {
      case 'hello': {
        const rebooted = this.store.greet(message);
        this.greeted = true;
        this.subscribed.clear();
        this.asked.clear();
        this.settle();
        this.sendRows();
        if (rebooted) this.events.rebooted();
        return;
      }
      case 'snap':
      case 'd':
        this.take(message);
        return;
      case 'err':
        console.warn(`server: ${message.code}: ${message.text}`);
        return;
      case 'bye':
        this.retryAfter = message.retry_ms;
        this.lose();
        return;
    }
  }

  private take(message: TopicMessage): void {
    this.failures = 0;
    if (this.frozen) {
      this.asked.delete(message.topic);
      this.setLink('live');
      return;
    }
    const outcome = this.store.apply(message);
    if (outcome === 'gap') {
      this.ask([message.topic]);
      return;
    }
    this.asked.delete(message.topic);
    this.lastHeard = this.env.now();
    this.setLink('live');
    if (outcome === 'applied') this.events.changed();
  }

  // Acknowledgements are sent when a message arrives, not by a timer, because browsers limit timers of hidden tabs to
  // one per minute.
  private acknowledge(): void {
    const now = this.env.now();
    if (now - this.lastAck < ACK_MS) return;
    this.lastAck = now;
    this.send({ t: 'ack' });
  }

  private settle(): void {
    if (!this.greeted) return;
    // Counters show that the server is alive, even when frozen.
    const wanted = this.frozen ? this.wanted.filter((topic) => topic === 'counters') : this.wanted;
    for (const topic of this.subscribed) {
      if (wanted.includes(topic)) continue;
      this.send({ t: 'unsub', topic });
      this.subscribed.delete(topic);
      this.asked.delete(topic);
    }
    this.ask(wanted.filter((topic) => !this.subscribed.has(topic)));
  }

  private ask(topics: readonly Topic[]): void {
    if (!this.greeted) return;
    const now = this.env.now();
    // Deltas that were in flight when the gap was detected are gaps as well; one request covers all of them.
    const due = topics.filter((topic) => now - (this.asked.get(topic) ?? -Infinity) >= ASK_AGAIN_MS);
    const held: Partial<Record<Topic, number>> = {};
    for (const topic of due) {
      const seq = this.store.seq(topic);
      // If a resume was not answered, the server may have lost the subscription, so a snapshot is required.
      if (seq !== null && !this.asked.has(topic)) held[topic] = seq;
      else this.send({ t: 'sub', topic });
      this.asked.set(topic, now);
      this.subscribed.add(topic);
    }
    if (Object.keys(held).length > 0) this.send({ t: 'resume', boot: this.store.hello!.boot, topics: held });
  }

  private sendRows(): void {
    if (this.greeted && this.rows.length > 0) this.send({ t: 'rows', ids: this.rows });
  }

  private send(message: ClientMessage): void {
    if (this.wire && this.greeted) this.wire.send(JSON.stringify(message));
  }

  private watch(): void {
    this.cancelWatch?.();
    this.cancelWatch = this.env.after(500, () => {
      if (this.env.now() - this.lastMessage > SILENCE_MS) this.lose();
      else {
        this.ask([...this.asked.keys()]);
        this.watch();
      }
    });
  }

  private lose(): void {
    const wire = this.wire;
    this.wire = null;
    this.greeted = false;
    this.cancelWatch?.();
    this.cancelWatch = null;
    if (wire) {
      wire.onopen = wire.onmessage = wire.onclose = null;
      wire.close();
    }
    if (this.link === 'live') this.setLink('lost');
    const grown = Math.min(BACKOFF_MS.last, BACKOFF_MS.first * 2 ** this.failures++);
    // Jitter prevents pages from reconnecting simultaneously after a server restart.
    const wait = this.retryAfter ?? grown * (0.75 + this.env.random() / 2);
    this.retryAfter = null;
    this.cancelRetry = this.env.after(wait, () => this.connect());
  }

  private setLink(link: Link): void {
    if (this.link === link) return;
    this.link = link;
    this.events.link(link);
  }
}
