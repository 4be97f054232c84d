// A coordination client in plain gRPC that can register and wait at a barrier, a session that
// creates and calls objects, and a process that holds a value.
import { connect } from 'node:http2';

const SERVICE = '/xla.coordination.CoordinationService';

const varint = (n) => {
  const bytes = [];
  for (; n > 0x7f; n = Math.floor(n / 128)) bytes.push((n & 0x7f) | 0x80);
  return Buffer.from([...bytes, n]);
};
const field = (number, type, value) => Buffer.concat([varint(number * 8 + type), value]);
const number = (at, n) => field(at, 0, varint(n));
const bytes = (at, value) => field(at, 2, Buffer.concat([varint(value.length), value]));
const fixed64 = (at, n) => {
  const value = Buffer.alloc(8);
  value.writeBigUInt64LE(n);
  return field(at, 1, value);
};

export function openSession(address) {
  const session = connect(`http://${address}`);
  session.setMaxListeners(0);
  session.on('error', () => {}); // the server stops first
  return session;
}

export class Agent {
  /** @param address The cluster's coordination service. Several clients can share a `session`, whose owner ends it. */
  constructor(address, task, incarnation = 1000n + BigInt(task), session = openSession(address)) {
    this.task = task;
    this.incarnation = incarnation;
    this.session = session;
  }

  /** Resolves when the cluster is complete. */
  async register() {
    const answer = await this.#call('RegisterTask', [fixed64(3, this.incarnation), number(5, this.task)]);
    this.service = answer.readBigUInt64LE(1); // the only field, after its tag
  }

  /** Resolves when the barrier was passed. `among` lists the participants; by default all tasks. */
  async barrier(id, timeoutMs, among = []) {
    await this.#call('Barrier', [this.#who(), bytes(2, Buffer.from(id)), number(3, timeoutMs), bytes(4, Buffer.concat(among.map(varint))), number(5, this.task)]);
  }

  /** Sends heartbeats until the end. */
  stayAlive() {
    this.beats = setInterval(() => this.#call('Heartbeat', [this.#who(), fixed64(2, this.incarnation), number(3, this.task)]).catch(() => {}), 5000);
  }

  /** Resolves when the key exists. */
  async key(name) {
    await this.#call('GetKeyValue', [this.#who(), bytes(2, Buffer.from(name))]);
  }

  async heartbeat() {
    const who = Buffer.concat([fixed64(2, this.incarnation), fixed64(3, this.service)]);
    await this.#call('Heartbeat', [bytes(1, who), fixed64(2, this.incarnation), number(3, this.task)]);
  }

  end() {
    clearInterval(this.beats);
    this.session.destroy();
  }

  #who() {
    return bytes(1, Buffer.concat([fixed64(2, this.incarnation), fixed64(3, this.service)]));
  }

  #call(method, fields) {
    const message = Buffer.concat(fields);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    return new Promise((resolve, reject) => {
      const stream = this.session.request({ ':method': 'POST', ':path': `${SERVICE}/${method}`, 'content-type': 'application/grpc', te: 'trailers' });
      const pieces = [];
      let trailers = {};
      stream.on('response', (headers) => (trailers = headers)); // an error can have no body
      stream.on('trailers', (headers) => (trailers = headers));
      stream.on('data', (piece) => pieces.push(piece));
      stream.on('error', reject);
      stream.on('close', () => {
        if (trailers['grpc-status'] === '0') resolve(Buffer.concat(pieces).subarray(5));
        else reject(new Error(`${method}: ${trailers['grpc-status']} ${trailers['grpc-message']}`));
      });
      stream.end(Buffer.concat([head, message]));
    });
  }
}

const framed = (...fields) => {
  const message = Buffer.concat(fields);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};
const OBJECTS = 40; // of SessionRequest and SessionResponse

export class ObjectSession {
  #seen = Buffer.alloc(0);
  #news = [];
  #last = 0n;

  constructor(address) {
    this.session = openSession(address);
    const headers = { ':method': 'POST', ':path': '/muster.v1.CoordinatorService/Session', 'content-type': 'application/grpc', te: 'trailers' };
    this.stream = this.session.request(headers);
    this.stream.on('error', () => {});
    this.stream.on('data', (piece) => {
      this.#seen = Buffer.concat([this.#seen, piece]);
      for (const tell of this.#news.splice(0)) tell();
    });
    this.stream.write(framed(bytes(1, Buffer.concat([bytes(2, Buffer.from('maker')), number(7, 1)]))));
    this.#ask(bytes(1, Buffer.from('a ticket of this session')));
  }

  /** Resolves with the object's id, once the server has stored it. */
  async create({ name, className, job, index, concurrency }) {
    const n = fixed64(1, ++this.#last);
    this.#ask(bytes(2, Buffer.concat([n, bytes(2, Buffer.from(name)), bytes(3, Buffer.from(className)), bytes(4, Buffer.from(job)), number(5, index), number(7, concurrency), bytes(8, Buffer.from('python:3.11'))])));
    // ObjectFound begins with the number; the id follows.
    const at = await this.#until(() => this.#seen.indexOf(Buffer.concat([n, varint(2 * 8 + 1)])));
    return this.#seen.readBigUInt64LE(at + n.length + 1);
  }

  call(object, method) {
    this.#ask(fixed64(4, ++this.#last), fixed64(5, object), bytes(6, Buffer.from(method)), bytes(7, Buffer.from('x')));
  }

  /** Resolves with the received data once this many calls have failed because of a deletion. */
  async failed(count) {
    const told = () => this.#seen.toString('latin1');
    await this.#until(() => (told().split('was deleted').length > count ? 0 : -1));
    return told();
  }

  end() {
    this.session.destroy();
  }

  #ask(...fields) {
    this.stream.write(framed(bytes(OBJECTS, Buffer.concat(fields))));
  }

  async #until(found) {
    for (;;) {
      const at = found();
      if (at >= 0) return at;
      await new Promise((resolve) => this.#news.push(resolve));
    }
  }
}

/** A process that reports a value of this size in the memory of a worker. */
export class ValueHolder {
  constructor(address, task, size, token = '') {
    this.session = openSession(address);
    const stream = this.session.request({ ':method': 'POST', ':path': '/muster.v1.BlobService/Hold', 'content-type': 'application/grpc', te: 'trailers', ...(token && { authorization: `Bearer ${token}` }) });
    stream.on('error', () => {}); // the server stops first
    stream.resume();
    const name = Buffer.alloc(32, task);
    stream.write(framed(bytes(1, Buffer.from(task.replace(':', '-'))), bytes(2, Buffer.from(task)), bytes(3, name), bytes(4, varint(size))));
  }

  end() {
    this.session.destroy();
  }
}
