import { outside } from './base';

// The server's error messages state whether the object ever existed.
export class Gone extends Error {}

export class Refused extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

async function refusal(response: Response): Promise<Error> {
  const problem = (await response.json().catch(() => null)) as { detail?: string; title?: string } | null;
  const why = problem?.detail || problem?.title || `HTTP ${response.status}`;
  return response.status === 404 ? new Gone(why) : new Refused(why, response.status);
}

export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(outside(path), { ...init, headers: { Accept: 'application/json', ...init.headers } });
  if (!response.ok) throw await refusal(response);
  return response;
}

export async function get<Body>(path: string): Promise<Body> {
  return (await ask(path)).json() as Promise<Body>;
}

// Resolves with the JSON body of the response, or null if the response has no body.
export async function send<Body>(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<Body | null> {
  const init = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
  const response = await ask(path, { method, ...init });
  return (await response.json().catch(() => null)) as Body | null;
}

// Omits empty parameters.
export function api(path: string, query: Readonly<Record<string, string | number>> = {}): string {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== '') asked.set(name, String(value));
  const text = asked.toString();
  return `/api/v1/${path}${text ? `?${text}` : ''}`;
}
