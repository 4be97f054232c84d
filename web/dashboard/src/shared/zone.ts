import { signal } from '@preact/signals';
import { setClockZone, type Zone } from './model/format';

export const ZONES = ['local', 'UTC'] as const satisfies readonly Zone[];
const KEY = 'muster.zone';

export const zone = signal<Zone>(localStorage.getItem(KEY) === 'UTC' ? 'UTC' : 'local');
setClockZone(zone.value);

export function setZone(next: Zone): void {
  setClockZone(next);
  zone.value = next;
  localStorage.setItem(KEY, next);
}
