// Adapts sentences from the server, which are also written for the command line.

import { age } from './format';

const STATES = /^(BLOCKED|QUEUED|RUNNING|SUCCEEDED|FAILED|CANCELLED)\b/;

// Converts "QUEUED for 751 s: …" to "Queued for 12m 31s: …".
export function plain(text: string): string {
  return text
    .replace(STATES, (word) => word[0] + word.slice(1).toLowerCase())
    .replace(/\b(after|for) 0 ms\b/g, '$1 less than 1 ms')
    .replace(/\b(after|for) (\d{2,}) s\b/g, (_, word: string, s: string) => `${word} ${age(Number(s) * 1000)}`)
    .replace(/\b(\d{2,}) s ago\b/g, (_, s: string) => `${age(Number(s) * 1000)} ago`);
}

export const within = (text: string): string => plain(text).replace(/^[A-Z]/, (letter) => letter.toLowerCase());
