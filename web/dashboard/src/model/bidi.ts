// Characters that change the direction of the following text, so that "gnp.exe" can look like "exe.png". These
// characters and zero-width directional marks are shown by number.

const TURNING = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g;

export function unturned(text: string): string {
  return text.replace(TURNING, (one) => `⟨U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}
