import { defineConfig } from "vite";

// Fixed names, no hashes and no maps: the same sources make the same bytes, which are part of the repository.
export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    modulePreload: false,
    sourcemap: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: "app.js",
        chunkFileNames: "app-[name].js",
        assetFileNames: "app[extname]",
      },
    },
  },
});
