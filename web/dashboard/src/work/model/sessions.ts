import { age } from '../../shared/model/format';
import { ENDED, type JobView } from '../../shared/model/views';

export function heldBy(j: JobView, now: number): { text: string; loose: boolean } {
  if (ENDED.includes(j.state)) return { text: 'ended', loose: false };
  const who = j.client ? j.client.replace(/^ipv[46]:/, '') : '';
  const held = j.holding;
  if (held?.attached || (!held && who)) return { text: who || 'a connected client', loose: false };
  const until = held?.kept_until_ms ? `, kept for another ${age(held.kept_until_ms - now)}` : '';
  if (held?.detached) return { text: `no client: detached, keeps running${until}`, loose: false };
  return { text: `no client: disconnected${until}${who ? ` (was ${who})` : ''}`, loose: true };
}
