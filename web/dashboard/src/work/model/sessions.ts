import { age } from '../../shared/model/format';
import { isOver } from '../../shared/model/counts';

interface Held {
  state: string;
  client?: string;
  holding?: { attached: boolean; detached: boolean; kept_until_ms?: number };
}

// Describes the client of a session. `loose` is true if the session waits for its client to come back.
export function heldBy(of: Held, now: number): { text: string; loose: boolean } {
  const { client, holding: held } = of;
  if (isOver(of)) return { text: 'ended', loose: false };
  const who = client ? client.replace(/^ipv[46]:/, '') : '';
  if (held?.attached || (!held && who)) return { text: who || 'a connected client', loose: false };
  const until = held?.kept_until_ms ? `, kept for another ${age(held.kept_until_ms - now)}` : '';
  if (held?.detached) return { text: `no client: detached, keeps running${until}`, loose: false };
  return { text: `no client: disconnected${until}${who ? ` (was ${who})` : ''}`, loose: true };
}
