// The path under which the server's pages are published: '' or a path such as '/muster' behind a reverse proxy. The
// server writes it into the page. Everywhere else in the dashboard, addresses are without this path; they get it
// where they leave the dashboard, in links, requests and the history of the browser.

const base = globalThis.document?.querySelector<HTMLMetaElement>('meta[name="muster-base"]')?.content.replace(/\/$/, '') ?? '';

// An address that contains the base path already stays as it is.
export const outside = (path: string): string => (path.startsWith('/') && inside(path) === path ? base + path : path);

export const inside = (path: string): string => (base && (path === base || path.startsWith(`${base}/`)) ? path.slice(base.length) || '/' : path);

// The server's URL, as `--url` expects it.
export const serverUrl = (): string => location.origin + base;
