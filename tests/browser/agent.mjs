// An agent of a cluster, spoken by hand: as much of gRPC and of the coordination protocol as it takes
// to register and to wait at a barrier.
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
  session.on('error', () => {}); // the server stops before the agents do
  return session;
}

export class Agent {
  /** `address`: of the cluster's coordination service. Many may share a `session`; its owner ends it. */
  constructor(address, task, incarnation = 1000n + BigInt(task), session = openSession(address)) {
    this.task = task;
    this.incarnation = incarnation;
    this.session = session;
  }

  /** Resolves when the cluster is complete. */
  async register() {
    const answer = await this.#call('RegisterTask', [fixed64(3, this.incarnation), number(5, this.task)]);
    this.service = answer.readBigUInt64LE(1); // the only field, behind its tag
  }

  /** Resolves when it passed. `among`: the tasks that have to come; without any all of the cluster. */
  async barrier(id, timeoutMs, among = []) {
    const who = Buffer.concat([fixed64(2, this.incarnation), fixed64(3, this.service)]);
    await this.#call('Barrier', [bytes(1, who), bytes(2, Buffer.from(id)), number(3, timeoutMs), bytes(4, Buffer.concat(among.map(varint))), number(5, this.task)]);
  }

  end() {
    this.session.destroy();
  }

  #call(method, fields) {
    const message = Buffer.concat(fields);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    return new Promise((resolve, reject) => {
      const stream = this.session.request({ ':method': 'POST', ':path': `${SERVICE}/${method}`, 'content-type': 'application/grpc', te: 'trailers' });
      const pieces = [];
      let trailers = {};
      stream.on('response', (headers) => (trailers = headers)); // an error may come without a body
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
