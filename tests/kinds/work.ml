(* Work for the table of kinds: native code, allocations, a sort. *)
let heavy n =
  let s = ref 0 in
  for i = 0 to n do s := !s + i * i mod 7 done;
  !s

let texts n =
  List.init n (fun i -> "text " ^ string_of_int (i * 7919 mod n))
  |> List.sort compare |> String.concat "" |> String.length

let () =
  while true do
    ignore (Sys.opaque_identity (heavy 300000 + texts 300))
  done
