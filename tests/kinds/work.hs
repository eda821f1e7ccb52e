-- Work for the table of kinds: native code without a C stack, a sort.
module Main where

import Data.List (foldl', sort)

heavy :: Int -> Int
heavy n = foldl' (\s i -> (s + i * i) `mod` 1000003) n [1 .. 30000]
{-# NOINLINE heavy #-}

texts :: Int -> Int
texts n = length (concat (sort [show (i * 7919 `mod` (n + 1)) | i <- [1 .. 2000]]))
{-# NOINLINE texts #-}

main :: IO ()
main = go 1
  where
    go :: Int -> IO ()
    go n = let m = heavy n + texts (n `mod` 5000) in m `seq` go (m `mod` 10007)
