// Shows invisible directional characters as code points. These characters change the direction of the text that
// follows, so that "gnp.exe" can look like "exe.png".

const TURNING = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g;

export function unturned(text: string): string {
  return text.replace(TURNING, (one) => `⟨U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);
}
