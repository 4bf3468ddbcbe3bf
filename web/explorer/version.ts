/** The version of the program that these pages were built with: that of the node, which serves what came with it. */

declare const __TESSERA_VERSION__: string;

export const PROGRAM_VERSION: string = __TESSERA_VERSION__;
