// Signing in exchanges a token for a cookie that scripts cannot read.
import type { Session } from 'muster-rest';
import { signal } from '@preact/signals';
import { get, send } from './rest';

export type { Session };

export const session = signal<Session | null>(null); // null until read, or if the server does not answer

const PATH = '/api/v1/session';

export async function readSession(): Promise<void> {
  session.value = await get<Session>(PATH).catch(() => session.peek());
}

// Rejects with the server's message.
export async function signIn(token: string): Promise<void> {
  session.value = await send<Session>('POST', PATH, { token });
}

export async function signOut(): Promise<void> {
  await send('DELETE', PATH).catch(() => null);
  location.reload();
}

// Properties that disable an action button if the token's role is viewer.
export const mayOnlyLook = () => (session.value?.required && session.value.role === 'viewer' ? { disabled: true, why: 'Your token is read-only.' } : {});
