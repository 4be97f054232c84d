// Characters that turn the direction of what follows, so that "exe.png" is read where "gnp.exe" stands. They are shown by
// their numbers, as are zero-width ones of that kind.

const TURNING = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g;

export function unturned(text: string): string {
  return text.replace(TURNING, (one) => `⟨U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}
